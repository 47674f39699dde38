/** One list is allocated for this many forwarded bytes. */
const STEP_BYTES = 64 * 1024;
/** Elements of such a list: 64 KiB, so that V8 collects new objects about every 4 MiB of buffers. */
const ELEMENTS = 8_192;

let uncountedBytes = 0;
/** Exported so that the compiler does not optimize the lists away. */
export let garbage: unknown[] = [];

/**
 * Makes V8 free the memory of forwarded buffers soon. V8 frees buffers when it collects new objects, but forwarding creates so
 * few objects that tens of MiB of buffers would pile up. So this function allocates objects in proportion to the forwarded
 * bytes. Forwarding 1 GiB then needs 195 MiB of memory instead of 220, and takes half as long, because memory is reused.
 */
export function triggerGarbageCollection(bytes: number): void {
  uncountedBytes += bytes;
  while (uncountedBytes >= STEP_BYTES) {
    uncountedBytes -= STEP_BYTES;
    garbage = new Array<unknown>(ELEMENTS);
  }
}
