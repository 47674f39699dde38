import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JsonBodiesModule } from '#platform/http';
import { ResourcesModule } from '../../resources';
import { ScorerDirectory } from '../experiments';
import { CodeEngine } from './engine/threads/code.engine';
import { ScorerDefinitions } from './scorer-definitions';
import { ScorerPackager } from './scorer.packager';
import { ScorerEntity } from './scorer.entity';
import { ScorerRepository } from './scorer.repository';
import { ScorerService } from './scorer.service';
import { ScorerStarterService } from './starters/scorer-starter.service';

/** Scorers: their definitions, the engine that runs code, and the starters to copy from. */
@Module({
  imports: [JsonBodiesModule, ResourcesModule, TypeOrmModule.forFeature([ScorerEntity])],
  providers: [
    CodeEngine,
    ScorerDefinitions,
    ScorerPackager,
    ScorerRepository,
    ScorerService,
    ScorerStarterService,
    { provide: ScorerDirectory, useExisting: ScorerRepository },
  ],
  exports: [CodeEngine, ScorerDirectory, ScorerRepository, ScorerService, ScorerStarterService],
})
export class ScorersModule {}
