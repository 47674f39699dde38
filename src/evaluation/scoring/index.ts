export { ScoringModule } from './scoring.module';
export { ScoreRequestDto } from './score/scoring.dto';
export { ScoringService } from './score/scoring.service';
export type { ScoreResultDto, ScoreRunDto } from './score-runs/score-run.dto';
export { RUN_STATUSES, type TargetRef } from './score-runs/score-run.entity';
export { ScoreRunService } from './score-runs/score-run.service';
export { SubjectBuilder } from './targets/subject-builder';
export type { Selection } from './targets/candidates';
export { TargetSelector } from './targets/target-selector';
