//! The functions of LLVM's C interface that are used, looked up in the library of the toolchain.

use crate::error::{Error, Result};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;

macro_rules! handles {
    ($($name:ident)*) => { $(
        #[doc = "Something of LLVM's, known by its address."]
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// Whether there is none.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    )* };
}

handles! { Context Module Value Block Builder Type Target Machine Buffer Options Attribute Failure }

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions, each under its own name.
        #[allow(non_snake_case, missing_docs)]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the functions where they are.
            _library: Library,
        }

        impl Api {
            /// Loads the library.
            pub fn load(path: &Path) -> Result<Self> {
                let fail = |error: libloading::Error| {
                    Error::new(format!("cannot use the toolchain's LLVM, {}: {error}", path.display()))
                };
                // SAFETY: the library of a Rust toolchain: its constructors only register options. Deadheat's own
                // library for compilers finds it by the names of its functions.
                let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(fail)?;
                Ok(Self {
                    // SAFETY: each name has had this signature in LLVM's C interface since before the versions
                    // that Rust's toolchains of today carry.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }.map_err(fail)?,)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    LLVMInitializeX86TargetInfo: fn();
    LLVMInitializeX86Target: fn();
    LLVMInitializeX86TargetMC: fn();
    LLVMInitializeX86AsmPrinter: fn();
    LLVMInitializeX86AsmParser: fn();
    LLVMContextCreate: fn() -> Context;
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Buffer;
    LLVMParseBitcodeInContext2: fn(Context, Buffer, *mut Module) -> c_int;
    LLVMGetTarget: fn(Module) -> *const c_char;
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Target, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: fn(Target, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Machine;
    LLVMCreatePassBuilderOptions: fn() -> Options;
    LLVMRunPasses: fn(Module, *const c_char, Machine, Options) -> Failure;
    LLVMGetErrorMessage: fn(Failure) -> *mut c_char;
    LLVMTargetMachineEmitToMemoryBuffer: fn(Machine, Module, c_int, *mut *mut c_char, *mut Buffer) -> c_int;
    LLVMGetBufferStart: fn(Buffer) -> *const c_char;
    LLVMGetBufferSize: fn(Buffer) -> usize;
    LLVMGetFirstFunction: fn(Module) -> Value;
    LLVMGetNextFunction: fn(Value) -> Value;
    LLVMIsDeclaration: fn(Value) -> c_int;
    LLVMGetValueName2: fn(Value, *mut usize) -> *const c_char;
    LLVMGetSection: fn(Value) -> *const c_char;
    LLVMSetSection: fn(Value, *const c_char);
    LLVMGetEnumAttributeKindForName: fn(*const c_char, usize) -> c_uint;
    LLVMCreateEnumAttribute: fn(Context, c_uint, u64) -> Attribute;
    LLVMAddAttributeAtIndex: fn(Value, c_uint, Attribute);
    LLVMGetFirstBasicBlock: fn(Value) -> Block;
    LLVMGetNextBasicBlock: fn(Block) -> Block;
    LLVMGetBasicBlockTerminator: fn(Block) -> Value;
    LLVMGetFirstInstruction: fn(Block) -> Value;
    LLVMGetNextInstruction: fn(Value) -> Value;
    LLVMGetInstructionOpcode: fn(Value) -> c_int;
    LLVMGetAtomicRMWBinOp: fn(Value) -> c_int;
    LLVMGetOrdering: fn(Value) -> c_int;
    LLVMGetOperand: fn(Value, c_uint) -> Value;
    LLVMTypeOf: fn(Value) -> Type;
    LLVMGetTypeKind: fn(Type) -> c_int;
    LLVMGetIntTypeWidth: fn(Type) -> c_uint;
    LLVMInt32TypeInContext: fn(Context) -> Type;
    LLVMVoidTypeInContext: fn(Context) -> Type;
    LLVMPointerTypeInContext: fn(Context, c_uint) -> Type;
    LLVMConstNull: fn(Type) -> Value;
    LLVMFunctionType: fn(Type, *mut Type, c_uint, c_int) -> Type;
    LLVMGetNamedFunction: fn(Module, *const c_char) -> Value;
    LLVMAddFunction: fn(Module, *const c_char, Type) -> Value;
    LLVMConstInt: fn(Type, u64, c_int) -> Value;
    LLVMCreateBuilderInContext: fn(Context) -> Builder;
    LLVMPositionBuilderBefore: fn(Builder, Value);
    LLVMBuildCall2: fn(Builder, Type, Value, *mut Value, c_uint, *const c_char) -> Value;
    LLVMReplaceAllUsesWith: fn(Value, Value);
    LLVMInstructionEraseFromParent: fn(Value);
    LLVMDisposeBuilder: fn(Builder);
}
