export { AgentsHttpModule } from './agents.http.module';
export { AgentsWorkerModule } from './agents.worker.module';
export { AgentsModule } from './agents.module';
export { AgentListQueryDto } from './agents/agent.dto';
export { AgentService } from './agents/agent.service';
export { type ScoredMessage, SessionDirectory, type SessionRef } from './sessions/session-directory';
export type { AgentSelection } from './sessions/session-directory.repository';
