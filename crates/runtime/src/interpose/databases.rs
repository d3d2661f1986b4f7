//! The system's tables of users, groups, hosts, networks and mounts: entries are put into memory of the program, or into
//! memory of the C library that the next call uses again. And other functions whose mere presence in a static program makes
//! the linker warn: there none of them is watched.

use core::ffi::{c_char, c_int, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::statics::{filled, wrote};
use crate::interpose::strings::{after, before};

type Str = *const c_char;
type Text = *mut c_char;
type Entry = *mut c_void;

const PASSWD: usize = 48;
const GROUP: usize = 32;
const HOST: usize = 32;
const NET: usize = 24;
const PROTOCOL: usize = 24;
const MOUNT: usize = 40;
const UTMP: usize = 384;
const ETHER: usize = 6;
const IFNAME: usize = 16;

/// An entry of the user database was put into the program's own memory.
fn user_entry(
    call: &mut Call,
    to: *mut c_void,
    size: usize,
    buffer: *mut c_char,
    room: usize,
    result: *mut *mut c_void,
    failed: c_int,
) {
    call.writes(result.cast(), 8);
    if failed == 0 {
        call.writes(to, size);
        call.writes(buffer.cast(), room);
    }
}

/// An entry of the host tables was put into the program's own memory, with the error beside it.
fn host_entry(
    call: &mut Call,
    to: Entry,
    (buffer, room): (Text, usize),
    result: *mut Entry,
    error: *mut c_int,
    failed: c_int,
) {
    if failed == 0 {
        user_entry(call, to, HOST, buffer, room, result, failed);
    } else {
        call.writes(result.cast(), 8);
    }
    if !error.is_null() && failed != 0 {
        call.writes(error.cast(), 4);
    }
}

after! {
    getpwnam(name: Str) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, PASSWD) };
    getpwuid(id: u32) -> *mut c_void: |call, entry| filled(call, entry, PASSWD);
    getpwent() -> *mut c_void: |call, entry| filled(call, entry, PASSWD);
    getgrnam(name: Str) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, GROUP) };
    getgrgid(id: u32) -> *mut c_void: |call, entry| filled(call, entry, GROUP);
    getgrent() -> *mut c_void: |call, entry| filled(call, entry, GROUP);
    gethostbyname(name: Str) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, HOST) };
    gethostbyname2(name: Str, family: c_int) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, HOST) };
    gethostbyaddr(address: *const c_void, len: u32, family: c_int) -> *mut c_void: |call, entry| { call.reads(address, len as usize); filled(call, entry, HOST) };
    gethostent() -> *mut c_void: |call, entry| filled(call, entry, HOST);
    getservbyname(name: Str, protocol: Str) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, HOST) };
    getservbyport(port: c_int, protocol: Str) -> *mut c_void: |call, entry| filled(call, entry, HOST);
    getprotobyname(name: Str) -> *mut c_void: |call, entry| { call.reads_text(name); filled(call, entry, 24) };
    getprotobynumber(number: c_int) -> *mut c_void: |call, entry| filled(call, entry, 24);
    tmpnam(to: Text) -> Text: |call, text| wrote(call, text);
    getpwnam_r(name: Str, to: *mut c_void, buffer: *mut c_char, room: usize, result: *mut *mut c_void) -> c_int: |call, failed| { call.reads_text(name); user_entry(call, to, PASSWD, buffer, room, result, failed) };
    getpwuid_r(id: u32, to: *mut c_void, buffer: *mut c_char, room: usize, result: *mut *mut c_void) -> c_int: |call, failed| user_entry(call, to, PASSWD, buffer, room, result, failed);
    getgrnam_r(name: Str, to: *mut c_void, buffer: *mut c_char, room: usize, result: *mut *mut c_void) -> c_int: |call, failed| { call.reads_text(name); user_entry(call, to, GROUP, buffer, room, result, failed) };
    getgrgid_r(id: u32, to: *mut c_void, buffer: *mut c_char, room: usize, result: *mut *mut c_void) -> c_int: |call, failed| user_entry(call, to, GROUP, buffer, room, result, failed);
    getaddrinfo(node: Str, service: Str, hints: *const c_void, result: *mut *mut c_void) -> c_int:
        |call, failed| {
            for text in [node, service] { if !text.is_null() { call.reads_text(text); } }
            if !hints.is_null() { call.reads(hints, 48); }
            if failed == 0 { call.writes(result.cast(), 8) }
        };
    getpwent_r(to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| user_entry(call, to, PASSWD, buffer, room, result, failed);
    getgrent_r(to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| user_entry(call, to, GROUP, buffer, room, result, failed);
    fgetpwent(file: Entry) -> Entry: |call, entry| { call.uses_stream(file); filled(call, entry, PASSWD) };
    fgetgrent(file: Entry) -> Entry: |call, entry| { call.uses_stream(file); filled(call, entry, GROUP) };
    fgetpwent_r(file: Entry, to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| { call.uses_stream(file); user_entry(call, to, PASSWD, buffer, room, result, failed) };
    fgetgrent_r(file: Entry, to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| { call.uses_stream(file); user_entry(call, to, GROUP, buffer, room, result, failed) };
    getgrouplist(name: Str, group: u32, to: *mut u32, count: *mut c_int) -> c_int: |call, n| {
        call.reads_text(name);
        call.writes(count.cast(), 4);
        if n > 0 { call.writes(to.cast(), n as usize * 4) }
    };
    gethostbyname_r(name: Str, to: Entry, buffer: Text, room: usize, result: *mut Entry, error: *mut c_int) -> c_int: |call, failed| { call.reads_text(name); host_entry(call, to, (buffer, room), result, error, failed) };
    gethostbyname2_r(name: Str, family: c_int, to: Entry, buffer: Text, room: usize, result: *mut Entry, error: *mut c_int) -> c_int: |call, failed| { call.reads_text(name); host_entry(call, to, (buffer, room), result, error, failed) };
    gethostbyaddr_r(address: *const c_void, len: u32, family: c_int, to: Entry, buffer: Text, room: usize, result: *mut Entry, error: *mut c_int) -> c_int: |call, failed| { call.reads(address, len as usize); host_entry(call, to, (buffer, room), result, error, failed) };
    gethostent_r(to: Entry, buffer: Text, room: usize, result: *mut Entry, error: *mut c_int) -> c_int: |call, failed| host_entry(call, to, (buffer, room), result, error, failed);
    getnetbyname(name: Str) -> Entry: |call, entry| { call.reads_text(name); filled(call, entry, NET) };
    getnetbyaddr(net: u32, family: c_int) -> Entry: |call, entry| filled(call, entry, NET);
    getnetent() -> Entry: |call, entry| filled(call, entry, NET);
    getprotoent() -> Entry: |call, entry| filled(call, entry, PROTOCOL);
    getservent() -> Entry: |call, entry| filled(call, entry, HOST);
    getprotobyname_r(name: Str, to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| { call.reads_text(name); user_entry(call, to, PROTOCOL, buffer, room, result, failed) };
    getprotobynumber_r(number: c_int, to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| user_entry(call, to, PROTOCOL, buffer, room, result, failed);
    getprotoent_r(to: Entry, buffer: Text, room: usize, result: *mut Entry) -> c_int: |call, failed| user_entry(call, to, PROTOCOL, buffer, room, result, failed);
    getmntent(file: Entry) -> Entry: |call, entry| { call.uses_stream(file); filled(call, entry, MOUNT) };
    getmntent_r(file: Entry, to: Entry, buffer: Text, room: c_int) -> Entry: |call, entry| { call.uses_stream(file); if !entry.is_null() { call.writes(to, MOUNT); call.writes(buffer.cast(), 1) } };
    getusershell() -> Text: |call, text| wrote(call, text);
    getpass(prompt: Str) -> Text: |call, text| { call.reads_text(prompt); wrote(call, text) };
    getutent() -> Entry: |call, entry| filled(call, entry, UTMP);
    getutid(like: *const c_void) -> Entry: |call, entry| { call.reads(like, UTMP); filled(call, entry, UTMP) };
    getutline(like: *const c_void) -> Entry: |call, entry| { call.reads(like, UTMP); filled(call, entry, UTMP) };
    getutxent() -> Entry: |call, entry| filled(call, entry, UTMP);
    getutxid(like: *const c_void) -> Entry: |call, entry| { call.reads(like, UTMP); filled(call, entry, UTMP) };
    getutxline(like: *const c_void) -> Entry: |call, entry| { call.reads(like, UTMP); filled(call, entry, UTMP) };
    getifaddrs(to: *mut Entry) -> c_int: |call, failed| if failed == 0 { call.writes(to.cast(), 8) };
    if_indextoname(index: u32, to: Text) -> Text: |call, text| if !text.is_null() { call.writes(to.cast(), IFNAME) };
    ether_ntoa(address: *const c_void) -> Text: |call, text| { call.reads(address, ETHER); wrote(call, text) };
    ether_ntoa_r(address: *const c_void, to: Text) -> Text: |call, text| { call.reads(address, ETHER); wrote(call, text) };
    ether_aton(text: Str) -> Entry: |call, entry| { call.reads_text(text); filled(call, entry, ETHER) };
    ether_aton_r(text: Str, to: Entry) -> Entry: |call, entry| { call.reads_text(text); filled(call, entry, ETHER) };
    ether_hostton(name: Str, to: Entry) -> c_int: |call, failed| { call.reads_text(name); if failed == 0 { call.writes(to, ETHER) } };
    ether_ntohost(to: Text, address: *const c_void) -> c_int: |call, failed| { call.reads(address, ETHER); if failed == 0 { wrote(call, to) } };
    ether_line(line: Str, address: Entry, name: Text) -> c_int: |call, failed| { call.reads_text(line); if failed == 0 { call.writes(address, ETHER); wrote(call, name) } };
}

before! {
    pututxline(entry: *const c_void) -> Entry: |call| call.reads(entry, UTMP);
    initgroups(name: Str, group: u32) -> c_int: |call| call.reads_text(name);
    if_nametoindex(name: Str) -> u32: |call| call.reads_text(name);
}

// Of the resolver.
after! {
    dn_expand(message: *const u8, end: *const u8, from: *const u8, to: Text, room: c_int) -> c_int: |call, n| if n > 0 { call.reads(from.cast(), n as usize); wrote(call, to) };
    dn_comp(from: Str, to: *mut u8, room: c_int, names: Entry, last: Entry) -> c_int: |call, n| { call.reads_text(from); if n > 0 { call.writes(to.cast(), n as usize) } };
    __b64_ntop(from: *const u8, len: usize, to: Text, room: usize) -> c_int: |call, n| { call.reads(from.cast(), len); if n >= 0 { call.writes(to.cast(), n as usize + 1) } };
    __b64_pton(from: Str, to: *mut u8, room: usize) -> c_int: |call, n| { call.reads_text(from); if n > 0 && !to.is_null() { call.writes(to.cast(), n as usize) } };
}

// Dangerous, as the linker says.
after! {
    tmpnam_r(to: *mut c_char) -> *mut c_char: |call, text| if !text.is_null() { call.writes_text(text) };
    tempnam(dir: Str, prefix: Str) -> *mut c_char: |call, text| { call.reads_text(dir); call.reads_text(prefix); if !text.is_null() { call.writes_text(text) } };
    getwd(to: *mut c_char) -> *mut c_char: |call, text| if !text.is_null() { call.writes_text(text) };
}
