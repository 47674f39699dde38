// The part of the WebAssembly namespace that the sandbox uses. TypeScript has it only in its browser library, which would
// add the browser's globals, and @types/node 20 does not have it.
declare namespace WebAssembly {
  interface MemoryDescriptor {
    /** Pages of 64 KiB at the start. */
    initial: number;
    /** Pages of 64 KiB beyond which `grow` fails. */
    maximum?: number;
  }
  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Module {
    constructor(bytes: Uint8Array);
    private readonly brand;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
