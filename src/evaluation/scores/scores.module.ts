import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents';
import { TelemetryModule } from '../../telemetry';
import { ExperimentsModule } from '../experiments';
import { ScorersModule } from '../scorers';
import { HumanScoreRepository } from './human-score.repository';
import { HumanScoreService } from './human-score.service';
import { KnownTargets, ScoreTargets } from './score-targets';

/** Scores that people give, and the targets that can be scored. */
@Module({
  imports: [AgentsModule, ExperimentsModule, ScorersModule, TelemetryModule],
  providers: [HumanScoreRepository, HumanScoreService, KnownTargets, ScoreTargets],
  exports: [HumanScoreService, KnownTargets],
})
export class ScoresModule {}
