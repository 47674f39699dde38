export { Heartbeat } from './heartbeat';
export { HeartbeatModule } from './heartbeat.module';
export { type LiveProcess, type ProcessKind, LiveProcessRepository } from './live-process.repository';
