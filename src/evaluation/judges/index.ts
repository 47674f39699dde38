export { JudgesModule } from './judges.module';
export { PromptError } from './judge-backend';
export { JudgeBackends } from './judge-backends';
export { JudgeRepository } from './judge.repository';
export {
  Budget,
  BUDGET_EXCEEDED,
  failedScoring,
  JudgeService,
  type Scoring,
  type ScoringContext,
} from './judge.service';
