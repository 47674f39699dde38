export { ScorersModule } from './scorers.module';
export { MeasureDto } from './agreement/agreement.dto';
export {
  type ChecksDefinition,
  type HumanDefinition,
  type JudgeBackendName,
  judgeBackendOf,
  type JudgeDefinition,
  minAnnotationsOf,
  type Output,
  SCORER_KINDS,
  type ScorerKind,
  type ScriptDefinition,
  type SingleOutput,
} from './definitions/definition.forms';
export { resolvePath } from './definitions/json.path';
export { cutText, MAX_ERROR_LENGTH, MAX_SUBJECT_LENGTH } from './definitions/limits';
export {
  type Answer,
  rangeOf,
  readAnswer,
  type ScoredAnswer,
  scoreOfAnswer,
} from './definitions/output.answer';
export { parsePrompt, type TemplatePart, type TemplatePath } from './definitions/prompt.template';
export { toolCallOf } from './engine/checks/tool-call.reader';
export { CodeEngine } from './engine/threads/code.engine';
export { codeSeesPart } from './engine/checks/truncation';
export type { ScoreOutcome, ScoringSubject } from './engine/subject';
export {
  type Grain,
  GRAINS,
  type PinnedScorer,
  type PinnedScorerRow,
  type ScorerEntity,
} from './scorer.entity';
export { type ScorerDto, ScorerListQueryDto } from './scorer.dto';
export { ScorerRepository } from './scorer.repository';
export { ScorerService } from './scorer.service';
