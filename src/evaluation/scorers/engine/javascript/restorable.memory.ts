const KIB = 1024;
const MIB = KIB * KIB;
const PAGE = 64 * KIB;

/** The initial memory that the interpreter's module declares. */
const INITIAL_BYTES = 16 * MIB;
/** Heap that a run can fill before the memory has to grow. It is small, because it is wiped after each run. */
const ARENA_BYTES = 512 * KIB;
/** Space for the interpreter's static data, about 90 KiB at the bottom of the memory. */
const STATIC_BYTES = 256 * KIB;
/** Largest stack of the interpreter. It lies directly below the heap and grows downwards. */
export const STACK_BYTES = 512 * KIB;
/** Memory below the heap that is wiped. Native frames that the interpreter does not count may write beyond its stack. */
const STACK_WINDOW_BYTES = STACK_BYTES + 256 * KIB;
/** A memory that has grown by more than this is released instead of wiped. */
const KEPT_GROWTH_BYTES = 8 * MIB;

/** The allocator inside the memory. `malloc` returns 0 if there is no space. */
export interface Allocator {
  malloc(bytes: number): number;
  free(pointer: number): void;
}

interface Segment {
  start: number;
  bytes: Uint8Array;
}

/**
 * A WebAssembly memory of bounded size that can be restored to its state at the call of {@link seal}.
 *
 * Copying all of it would cost milliseconds, so `seal` first limits what a run can write to: it allocates everything
 * between the heap in use and a small arena at the end of the initial memory, and never touches it. A run that needs more
 * than the arena makes the memory grow, which is visible. Restoring then copies the static data and the heap, and writes
 * zeros over the stack, the arena and the growth.
 */
export class RestorableMemory {
  readonly memory: WebAssembly.Memory;
  private exhausted = false;
  private heapStart = 0;
  private readonly pristine: Segment[] = [];

  /** @param limitMb MiB that a run may allocate in addition to the sealed state */
  constructor(limitMb: number) {
    const maximum = (INITIAL_BYTES - ARENA_BYTES + limitMb * MIB) / PAGE;
    this.memory = new WebAssembly.Memory({ initial: INITIAL_BYTES / PAGE, maximum });
    const grow = this.memory.grow.bind(this.memory);
    Object.defineProperty(this.memory, 'grow', {
      value: (pages: number): number => {
        try {
          return grow(pages);
        } catch (error) {
          this.exhausted = true;
          throw error;
        }
      },
    });
  }

  /** Whether an allocation failed because memory ran out. Such a memory is never restored. */
  get isExhausted(): boolean {
    return this.exhausted;
  }

  /** Marks the end of the stack and the start of the heap. Call it before anything is allocated. */
  markHeap(allocator: Allocator): void {
    const first = allocator.malloc(1);
    allocator.free(first);
    this.heapStart = first;
  }

  /** Saves the current state for {@link restore}. Only runs may write to the memory afterwards. */
  seal(allocator: Allocator): void {
    const heapEnd = allocator.malloc(ARENA_BYTES);
    allocator.free(heapEnd);
    const reserved = allocator.malloc(INITIAL_BYTES - ARENA_BYTES - heapEnd);
    if (reserved !== heapEnd || this.memory.buffer.byteLength !== INITIAL_BYTES) {
      throw new Error('The interpreter has an unexpected memory layout.');
    }
    this.save(0, STATIC_BYTES);
    this.save(this.heapStart - PAGE, heapEnd + PAGE);
    this.save(INITIAL_BYTES - ARENA_BYTES - PAGE, INITIAL_BYTES);
  }

  /**
   * Restores the memory. Returns false, and does nothing, if memory ran out, or has grown so much that it should be
   * released instead, because a WebAssembly memory never shrinks.
   */
  restore(): boolean {
    const grown = this.memory.buffer.byteLength - INITIAL_BYTES;
    if (this.exhausted || grown > KEPT_GROWTH_BYTES) return false;
    const bytes = new Uint8Array(this.memory.buffer);
    bytes.fill(0, this.heapStart - STACK_WINDOW_BYTES, this.heapStart);
    bytes.fill(0, INITIAL_BYTES - ARENA_BYTES);
    for (const segment of this.pristine) bytes.set(segment.bytes, segment.start);
    return true;
  }

  private save(start: number, end: number): void {
    const bytes = new Uint8Array(this.memory.buffer).slice(start, end);
    let length = bytes.length;
    if (start > this.heapStart) while (length > 0 && bytes[length - 1] === 0) length -= 1;
    this.pristine.push({ start, bytes: bytes.slice(0, length) });
  }
}
