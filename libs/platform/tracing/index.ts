export { startTracing, tracing } from './start-tracing';
export type { TracedJob, TracedRole, Tracing } from './tracing';
