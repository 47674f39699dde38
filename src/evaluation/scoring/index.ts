export { ScoringModule } from './scoring.module';
export { ScoreRequestDto } from './requests/scoring.dto';
export { ScoringService } from './requests/scoring.service';
export { type ScoreResultDto, type ScoreRunDto } from './runs/score-run.dto';
export { RUN_STATUSES } from './runs/score-run.entity';
export { ScoreRunService } from './runs/score-run.service';
