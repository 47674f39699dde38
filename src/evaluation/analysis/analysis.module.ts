import { Module } from '@nestjs/common';
import { ExperimentsModule } from '../experiments';
import { ScorersModule } from '../scorers';
import { AgreementRepository } from './agreement/agreement.repository';
import { AgreementService } from './agreement/agreement.service';
import { AnalysisPool } from './computation/analysis.pool';
import { ComparisonRepository } from './comparison/comparison.repository';
import { ComparisonService } from './comparison/comparison.service';
import { ScoreReader } from './comparison/score-reader';
import { GateService } from './gate/gate.service';

/** Analysis: comparisons, gates, and the agreement of scorers. */
@Module({
  imports: [ExperimentsModule, ScorersModule],
  providers: [
    AgreementRepository,
    AgreementService,
    AnalysisPool,
    ComparisonRepository,
    ComparisonService,
    GateService,
    ScoreReader,
  ],
  exports: [AgreementService, AnalysisPool, ComparisonService, GateService],
})
export class AnalysisModule {}
