export { Heartbeat } from './heartbeat';
export { HeartbeatModule } from './heartbeat.module';
export {
  ALIVE_SECONDS,
  type LiveProcess,
  type ProcessKind,
  LiveProcessRepository,
} from './live-process.repository';
