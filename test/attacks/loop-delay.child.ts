/** Preloaded by an attacked service. Sends its worst event-loop delay, in milliseconds, several times a second. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 10;
const REPORT_MS = 100;

// worker threads load this file as well
if (isMainThread && process.send) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const report = (): void => {
    process.send?.(Math.max(0, delays.max / 1e6 - RESOLUTION_MS), () => undefined);
    delays.reset();
  };
  setInterval(report, REPORT_MS).unref();
  // ends the service with a killed test
  process.once('disconnect', () => process.kill(process.pid));
  process.channel?.unref();
}
