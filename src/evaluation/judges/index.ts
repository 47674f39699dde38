export { JudgesModule } from './judges.module';
export { PromptError } from './judge-backend';
export { JudgeBackends } from './judging/judge-backends';
export { JudgeLimitRepository } from './calls/judge-limit.repository';
export { JudgeService } from './judging/judge.service';
export { ChatFeaturesRepository } from './llm/chat-features.repository';
export {
  Budget,
  BUDGET_EXCEEDED,
  failedScoring,
  type Scoring,
  type ScoringContext,
} from './judging/scoring-context';
