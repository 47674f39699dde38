import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ResourcesModule } from '../../resources';
import { StatisticsModule } from '../statistics';
import { AgreementRepository } from './agreement/agreement.repository';
import { AgreementService } from './agreement/agreement.service';
import { CodeEngine } from './engine/threads/code.engine';
import { ScorerPackager } from './scorer.packager';
import { ScorerEntity } from './scorer.entity';
import { ScorerRepository } from './scorer.repository';
import { ScorerService } from './scorer.service';

/** Scorers: their definitions and the engine that runs code. */
@Module({
  imports: [ResourcesModule, StatisticsModule, TypeOrmModule.forFeature([ScorerEntity])],
  providers: [
    AgreementRepository,
    AgreementService,
    CodeEngine,
    ScorerPackager,
    ScorerRepository,
    ScorerService,
  ],
  exports: [AgreementService, CodeEngine, ScorerRepository, ScorerService],
})
export class ScorersModule {}
