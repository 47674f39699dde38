export { ScoringModule } from './scoring.module';
export { ScoreRequestDto } from './requests/scoring.dto';
export { ScoringService } from './requests/scoring.service';
export type { ScoreResultDto, ScoreRunDto } from './runs/score-run.dto';
export { RUN_STATUSES, type TargetRef } from './runs/score-run.entity';
export { ScoreRunService } from './runs/score-run.service';
export { SubjectBuilder } from './subjects/subject-builder';
export type { Selection } from './target-selection/candidates';
export { TargetSelector } from './target-selection/target-selector';
