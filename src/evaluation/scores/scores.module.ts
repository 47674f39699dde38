import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents';
import { ResourcesModule } from '../../resources';
import { TelemetryModule } from '../../telemetry';
import { ScorersModule } from '../scorers';
import { AwaitedTraceRepository } from './awaited-trace.repository';
import { AwaitedTraces } from './awaited-traces';
import { ResultReferenceRepository } from './result-reference.repository';
import { ScoreRepository } from './score.repository';
import { ScoreService } from './score.service';
import { ScoreStatsRepository } from './score-stats.repository';
import { ScoreStatsService } from './score-stats.service';
import { ScoreTargetRepository } from './score-target.repository';
import { TargetDirectory } from './score-targets';

/** The scores of all sources, and the targets that can be scored. */
@Module({
  imports: [AgentsModule, ResourcesModule, ScorersModule, TelemetryModule],
  providers: [
    AwaitedTraceRepository,
    AwaitedTraces,
    ResultReferenceRepository,
    ScoreRepository,
    ScoreService,
    ScoreStatsRepository,
    ScoreStatsService,
    ScoreTargetRepository,
    TargetDirectory,
  ],
  exports: [
    AwaitedTraces,
    ResultReferenceRepository,
    ScoreRepository,
    ScoreService,
    ScoreStatsService,
    ScoreTargetRepository,
    TargetDirectory,
  ],
})
export class ScoresModule {}
