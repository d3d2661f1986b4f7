//! Streams: the program's buffers are read and written. A stream has its own lock in the C library, so two threads that
//! print are no race; closing one that another thread uses is, because the stream's own memory is freed.

use core::ffi::{c_char, c_int, c_void};

use crate::abi::api;
use crate::interpose;
use crate::interpose::Call;
use crate::interpose::strings::{after, before};

type Str = *const c_char;
type File = *mut c_void;

unsafe extern "C" {
    fn fileno(file: File) -> c_int;
    fn __errno_location() -> *mut c_int;
}

/// The descriptor behind a stream; negative if there is none.
unsafe fn descriptor(file: File) -> c_int {
    if file.is_null() {
        return -1;
    }
    // SAFETY: a stream of the program; asking for its descriptor must not change what the program sees in errno.
    unsafe {
        let errno = __errno_location();
        let saved = *errno;
        let fd = fileno(file);
        *errno = saved;
        fd
    }
}

impl Call {
    /// The program uses a stream.
    pub fn uses_stream(&mut self, file: File) {
        if !file.is_null() {
            self.reads(file, 1);
        }
    }

    /// Something is put into a stream, and may come out at another end of it.
    ///
    /// # Safety
    /// `file` must be a stream.
    pub unsafe fn puts_into(&mut self, file: File) {
        self.uses_stream(file);
        // SAFETY: by the contract.
        let fd = unsafe { descriptor(file) };
        if fd >= 0 && self.strand().is_some() && Call::has_peer(fd) {
            self.sends(fd);
        }
    }

    /// Something came out of a stream.
    ///
    /// # Safety
    /// `file` must be a stream.
    pub unsafe fn got_from(&mut self, file: File) {
        self.uses_stream(file);
        // SAFETY: by the contract.
        let fd = unsafe { descriptor(file) };
        if fd >= 0 && self.strand().is_some() && Call::has_peer(fd) {
            self.received(fd);
        }
    }

    unsafe fn opened_stream(&mut self, file: File) {
        // SAFETY: a fresh stream, or null.
        let fd = unsafe { descriptor(file) };
        self.opened(fd);
    }

    unsafe fn got_line(&mut self, line: *mut *mut c_char, room: *mut usize, n: isize, file: File) {
        // SAFETY: the program's own stream and places.
        unsafe {
            self.got_from(file);
            self.writes(line.cast(), size_of::<usize>());
            self.writes(room.cast(), size_of::<usize>());
            if n >= 0 {
                self.writes((*line).cast(), n as usize + 1);
            }
        }
    }
}

after! {
    fread(to: *mut c_void, size: usize, count: usize, file: File) -> usize: |call, n| { call.got_from(file); call.writes(to, n * size) };
    fread_unlocked(to: *mut c_void, size: usize, count: usize, file: File) -> usize: |call, n| { call.got_from(file); call.writes(to, n * size) };
    __fread_chk(to: *mut c_void, room: usize, size: usize, count: usize, file: File) -> usize: |call, n| { call.got_from(file); call.writes(to, n * size) };
    __fread_unlocked_chk(to: *mut c_void, room: usize, size: usize, count: usize, file: File) -> usize: |call, n| { call.got_from(file); call.writes(to, n * size) };
    fgets(to: *mut c_char, room: c_int, file: File) -> *mut c_char: |call, line| { call.got_from(file); if !line.is_null() { call.writes_text(to) } };
    fgets_unlocked(to: *mut c_char, room: c_int, file: File) -> *mut c_char: |call, line| { call.got_from(file); if !line.is_null() { call.writes_text(to) } };
    __fgets_chk(to: *mut c_char, size: usize, room: c_int, file: File) -> *mut c_char: |call, line| { call.got_from(file); if !line.is_null() { call.writes_text(to) } };
    __fgets_unlocked_chk(to: *mut c_char, size: usize, room: c_int, file: File) -> *mut c_char: |call, line| { call.got_from(file); if !line.is_null() { call.writes_text(to) } };
    getline(line: *mut *mut c_char, room: *mut usize, file: File) -> isize: |call, n| call.got_line(line, room, n, file);
    __getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: File) -> isize: |call, n| call.got_line(line, room, n, file);
    getdelim(line: *mut *mut c_char, room: *mut usize, end: c_int, file: File) -> isize: |call, n| call.got_line(line, room, n, file);
    fgetc(file: File) -> c_int: |call, c| call.got_from(file);
    getc(file: File) -> c_int: |call, c| call.got_from(file);
    fgetc_unlocked(file: File) -> c_int: |call, c| call.got_from(file);
    fopen(path: Str, mode: Str) -> File: |call, file| { call.reads_text(path); call.reads_text(mode); call.opened_stream(file) };
    fopen64(path: Str, mode: Str) -> File: |call, file| { call.reads_text(path); call.reads_text(mode); call.opened_stream(file) };
    popen(command: Str, mode: Str) -> File: |call, file| { call.reads_text(command); call.reads_text(mode); call.opened_stream(file) };
    tmpfile() -> File: |call, file| call.opened_stream(file);
    tmpfile64() -> File: |call, file| call.opened_stream(file);
    fgetpos(file: File, place: *mut c_void) -> c_int: |call, failed| { call.uses_stream(file); if failed == 0 { call.writes(place, 16) } };
    fgetpos64(file: File, place: *mut c_void) -> c_int: |call, failed| { call.uses_stream(file); if failed == 0 { call.writes(place, 16) } };
    open_wmemstream(text: *mut *mut c_char, size: *mut usize) -> File: |call, file| { call.writes(text.cast(), 8); call.writes(size.cast(), 8) };
    open_memstream(text: *mut *mut c_char, size: *mut usize) -> File: |call, file| { call.writes(text.cast(), 8); call.writes(size.cast(), 8) };
}

before! {
    fwrite(from: *const c_void, size: usize, count: usize, file: File) -> usize: |call| { call.reads(from, size.saturating_mul(count)); call.puts_into(file) };
    fwrite_unlocked(from: *const c_void, size: usize, count: usize, file: File) -> usize: |call| { call.reads(from, size.saturating_mul(count)); call.puts_into(file) };
    fputs(text: Str, file: File) -> c_int: |call| { call.reads_text(text); call.puts_into(file) };
    fputs_unlocked(text: Str, file: File) -> c_int: |call| { call.reads_text(text); call.puts_into(file) };
    puts(text: Str) -> c_int: |call| call.reads_text(text);
    perror(text: Str) -> (): |call| if !text.is_null() { call.reads_text(text); };
    fputc(c: c_int, file: File) -> c_int: |call| call.puts_into(file);
    putc(c: c_int, file: File) -> c_int: |call| call.puts_into(file);
    ungetc(c: c_int, file: File) -> c_int: |call| call.uses_stream(file);
    fseek(file: File, at: i64, from: c_int) -> c_int: |call| call.uses_stream(file);
    fseeko(file: File, at: i64, from: c_int) -> c_int: |call| call.uses_stream(file);
    ftell(file: File) -> i64: |call| call.uses_stream(file);
    rewind(file: File) -> (): |call| call.uses_stream(file);
    fflush(file: File) -> c_int: |call| if !file.is_null() { call.puts_into(file) };
    feof(file: File) -> c_int: |call| call.uses_stream(file);
    ferror(file: File) -> c_int: |call| call.uses_stream(file);
    fsetpos(file: File, place: *const c_void) -> c_int: |call| { call.uses_stream(file); call.reads(place, 16) };
    fdopen(fd: c_int, mode: Str) -> File: |call| { call.reads_text(mode); call.uses(fd) };
    remove(path: Str) -> c_int: |call| call.reads_text(path);
    rename(from: Str, to: Str) -> c_int: |call| { call.reads_text(from); call.reads_text(to) };
    fclose(file: File) -> c_int: |call| { let fd = descriptor(file); call.uses_stream(file); call.closes(fd) };
    pclose(file: File) -> c_int: |call| { let fd = descriptor(file); call.uses_stream(file); call.closes(fd) };
}

before! {
    setvbuf(file: File, buffer: *mut c_char, how: c_int, size: usize) -> c_int: |call| call.uses_stream(file);
    setbuf(file: File, buffer: *mut c_char) -> (): |call| call.uses_stream(file);
    setbuffer(file: File, buffer: *mut c_char, size: usize) -> (): |call| call.uses_stream(file);
    setlinebuf(file: File) -> (): |call| call.uses_stream(file);
    fmemopen(buffer: *mut c_void, size: usize, mode: Str) -> File: |call| call.reads_text(mode);
}

interpose! {
    /// Who holds a stream may use its inner parts, as `getc_unlocked` does.
    unsafe fn flockfile(file: File) -> () |call, real| {
        // SAFETY: the program's own call.
        unsafe { real(file) };
        if call.strand().is_some() {
            api::acquire(file as usize);
        }
    }

    unsafe fn ftrylockfile(file: File) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let busy = unsafe { real(file) };
        if busy == 0 && call.strand().is_some() {
            api::acquire(file as usize);
        }
        busy
    }

    unsafe fn funlockfile(file: File) -> () |call, real| {
        if call.strand().is_some() {
            api::release(file as usize);
        }
        // SAFETY: the program's own call.
        unsafe { real(file) };
    }

    unsafe fn freopen(path: Str, mode: Str, file: File) -> File |call, real| {
        // SAFETY: the program's own strings and stream.
        unsafe { reopens(&mut call, path, mode, file) };
        // SAFETY: the program's own call.
        let new = unsafe { real(path, mode, file) };
        // SAFETY: as above.
        unsafe { call.opened_stream(new) };
        new
    }

    unsafe fn freopen64(path: Str, mode: Str, file: File) -> File |call, real| {
        // SAFETY: the program's own strings and stream.
        unsafe { reopens(&mut call, path, mode, file) };
        // SAFETY: the program's own call.
        let new = unsafe { real(path, mode, file) };
        // SAFETY: as above.
        unsafe { call.opened_stream(new) };
        new
    }
}

unsafe fn reopens(call: &mut Call, path: Str, mode: Str, file: File) {
    // SAFETY: the program's own strings and stream.
    unsafe {
        if !path.is_null() {
            call.reads_text(path);
        }
        call.reads_text(mode);
        call.closes(descriptor(file));
    }
}
