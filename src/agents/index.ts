export { AgentsHttpModule } from './agents.http.module';
export { AgentsModule } from './agents.module';
export { SessionDirectory, type SessionRef, type ToldMessage } from './sessions/session-directory';
export type { AgentSelection } from './sessions/session-directory.repository';
