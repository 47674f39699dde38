export { AgentsHttpModule } from './agents.http.module';
export { AgentsModule } from './agents.module';
export { type ScoredMessage, SessionDirectory, type SessionRef } from './sessions/session-directory';
export type { AgentSelection } from './sessions/session-directory.repository';
