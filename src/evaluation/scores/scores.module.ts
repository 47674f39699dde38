import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents';
import { TelemetryModule } from '../../telemetry';
import { ExperimentsModule, ScoreWriteBack } from '../experiments';
import { ScorersModule } from '../scorers';
import { ScoreRepository } from './score.repository';
import { ScoreService } from './score.service';
import { ScoreStatsRepository } from './score-stats.repository';
import { ScoreStatsService } from './score-stats.service';
import { ScoreTargets, TargetDirectory } from './score-targets';
import { ScoreWriteBackRepository } from './score-write-back.repository';

/** Scores of all sources, their write-back to results, and the targets that can be scored. */
@Module({
  imports: [AgentsModule, ExperimentsModule, ScorersModule, TelemetryModule],
  providers: [
    ScoreRepository,
    ScoreService,
    ScoreStatsRepository,
    ScoreStatsService,
    TargetDirectory,
    ScoreTargets,
    ScoreWriteBackRepository,
    { provide: ScoreWriteBack, useExisting: ScoreWriteBackRepository },
  ],
  exports: [ScoreService, ScoreStatsService, TargetDirectory, ScoreWriteBack],
})
export class ScoresModule {}
