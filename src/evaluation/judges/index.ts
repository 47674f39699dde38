export { JudgesModule } from './judges.module';
export { CannotJudge, JudgeBackends } from './judge-backend';
export { JudgeLimitRepository } from './calls/judge-limit.repository';
export { Judging } from './judging/judging';
export { ChatFeaturesRepository } from './llm/chat-features.repository';
export { Budget, BUDGET_SPENT, failing, type Scoring, type ScoringTerms } from './judging/scoring-terms';
export {
  firstUserContent,
  lastAssistantContent,
  messagesOfTraces,
  type SessionMessage,
} from './prompt/session-messages';
