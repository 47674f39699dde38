const KIB = 1024;
const MIB = KIB * KIB;
const PAGE = 64 * KIB;

/** What the interpreter's module declares as its least memory. */
const INITIAL_BYTES = 16 * MIB;
/** Heap that a run can fill before the memory has to grow. It is wiped after each run, so it is kept small. */
const ARENA_BYTES = 512 * KIB;
/** Room for the interpreter's static data, which lies at the bottom of the memory and has about 90 KiB. */
const STATIC_BYTES = 256 * KIB;
/** What the interpreter's stack may take; it lies directly below the heap and grows downwards. */
export const STACK_BYTES = 512 * KIB;
/** Native frames are not all counted by the interpreter: room for what they write beyond its stack. */
const STACK_WINDOW_BYTES = STACK_BYTES + 256 * KIB;
/** A memory that has grown by more than this is given back instead of being wiped for the next run. */
const KEPT_GROWTH_BYTES = 8 * MIB;

/** The allocator inside of the memory. `malloc` answers 0 where there is no room. */
export interface Allocator {
  malloc(bytes: number): number;
  free(pointer: number): void;
}

interface Segment {
  start: number;
  bytes: Uint8Array;
}

/**
 * A WebAssembly memory of bounded size that can be put back to how it was when {@link seal} was called.
 *
 * A copy of all of it would cost milliseconds, so `seal` first makes sure that little can be written: everything
 * between the heap in use and a small arena at the end of the initial memory is allocated once and never touched. What
 * a run needs beyond that arena makes the memory grow, which shows. Putting it back is then a copy of the static data and
 * the heap, and zeroes over the stack, the arena and what has grown.
 */
export class RestorableMemory {
  readonly memory: WebAssembly.Memory;
  private exhausted = false;
  private heapStart = 0;
  private readonly pristine: Segment[] = [];

  /** `limitMb`: what the interpreter's heap may take in a run, in MiB, besides what it holds when sealed. */
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

  /** Whether an allocation was refused for want of memory; such a memory is never restored. */
  get isExhausted(): boolean {
    return this.exhausted;
  }

  /** Marks the end of the stack and the beginning of the heap; to be called before anything is allocated. */
  markHeap(allocator: Allocator): void {
    const first = allocator.malloc(1);
    allocator.free(first);
    this.heapStart = first;
  }

  /** Keeps the memory as it is now for {@link restore}. Nothing outside of a run may write to it afterwards. */
  seal(allocator: Allocator): void {
    const heapEnd = allocator.malloc(ARENA_BYTES);
    allocator.free(heapEnd);
    const reserved = allocator.malloc(INITIAL_BYTES - ARENA_BYTES - heapEnd);
    if (reserved !== heapEnd || this.memory.buffer.byteLength !== INITIAL_BYTES) {
      throw new Error('the interpreter lays out its memory in another way than the sandbox expects');
    }
    this.keep(0, STATIC_BYTES);
    this.keep(this.heapStart - PAGE, heapEnd + PAGE);
    this.keep(INITIAL_BYTES - ARENA_BYTES - PAGE, INITIAL_BYTES);
  }

  /**
   * Puts the memory back. Answers false, having done nothing, where it ran out or has grown so far that it should be
   * given back to the system instead: a WebAssembly memory never shrinks.
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

  private keep(start: number, end: number): void {
    const bytes = new Uint8Array(this.memory.buffer).slice(start, end);
    let length = bytes.length;
    if (start > this.heapStart) while (length > 0 && bytes[length - 1] === 0) length -= 1;
    this.pristine.push({ start, bytes: bytes.slice(0, length) });
  }
}
