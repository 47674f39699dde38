import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents';
import { TelemetryModule } from '../../telemetry';
import { ExperimentsModule, ScoreWriteBack } from '../experiments';
import { ScorersModule } from '../scorers';
import { HumanScoreRepository } from './human-score.repository';
import { HumanScoreService } from './human-score.service';
import { KnownTargets, ScoreTargets } from './score-targets';
import { ScoreWriteBackRepository } from './score-write-back.repository';

/** Human scores, their write-back to results, and the targets that can be scored. */
@Module({
  imports: [AgentsModule, ExperimentsModule, ScorersModule, TelemetryModule],
  providers: [
    HumanScoreRepository,
    HumanScoreService,
    KnownTargets,
    ScoreTargets,
    ScoreWriteBackRepository,
    { provide: ScoreWriteBack, useExisting: ScoreWriteBackRepository },
  ],
  exports: [HumanScoreService, KnownTargets, ScoreWriteBack],
})
export class ScoresModule {}
