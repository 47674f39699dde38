/**
 * To be imported before anything else: loading the rest takes a second or more, and a signal may come meanwhile; and
 * what is to be traced is patched as it is loaded.
 */
import path from 'node:path';
import { endOnSignal } from '#platform/process';
import { startTracing, type TracedRole } from '#platform/tracing';

/** The processes that go on, by their entries; the others end when they are done, and nobody waits for them. */
const TRACED: Partial<Record<string, TracedRole>> = {
  main: 'api',
  worker: 'worker',
  standalone: 'standalone',
};

endOnSignal();
const role = TRACED[path.parse(require.main?.filename ?? '').name];
if (role) startTracing(role);
