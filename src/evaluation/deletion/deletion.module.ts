import { Module } from '@nestjs/common';
import { ResourcesModule } from '../../resources';
import { EvaluationReferences } from './evaluation-references.repository';

/** What refers to the resources of evaluation. */
@Module({ imports: [ResourcesModule], providers: [EvaluationReferences] })
export class DeletionModule {}
