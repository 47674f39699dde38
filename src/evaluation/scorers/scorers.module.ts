import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JsonBodiesModule } from '#platform/http';
import { ResourcesModule } from '../../resources';
import { StatisticsModule } from '../statistics';
import { AgreementRepository } from './agreement/agreement.repository';
import { AgreementService } from './agreement/agreement.service';
import { CodeEngine } from './engine/threads/code.engine';
import { ScorerDefinitions } from './scorer-definitions';
import { ScorerPackager } from './scorer.packager';
import { ScorerEntity } from './scorer.entity';
import { ScorerRepository } from './scorer.repository';
import { ScorerService } from './scorer.service';
import { ScorerStarterService } from './starters/scorer-starter.service';

/** Scorers: their definitions, the engine that runs code, and the starters to copy from. */
@Module({
  imports: [JsonBodiesModule, ResourcesModule, StatisticsModule, TypeOrmModule.forFeature([ScorerEntity])],
  providers: [
    AgreementRepository,
    AgreementService,
    CodeEngine,
    ScorerDefinitions,
    ScorerPackager,
    ScorerRepository,
    ScorerService,
    ScorerStarterService,
  ],
  exports: [AgreementService, CodeEngine, ScorerRepository, ScorerService, ScorerStarterService],
})
export class ScorersModule {}
