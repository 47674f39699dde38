import { Module } from '@nestjs/common';
import { ResourcesModule } from '../../resources';
import { DatasetsModule } from '../datasets';
import { AnnotationErasureRepository } from './annotation-erasure.repository';
import { ContentErasureRepository } from './content-erasure.repository';
import { DatasetErasureRepository } from './dataset-erasure.repository';
import { EvaluationErasureSteps } from './evaluation-erasure.steps';
import { ExperimentErasureRepository } from './experiment-erasure.repository';
import { TargetErasureRepository } from './target-erasure.repository';

/** The steps of erasures in evaluation. */
@Module({
  imports: [DatasetsModule, ResourcesModule],
  providers: [
    AnnotationErasureRepository,
    ContentErasureRepository,
    DatasetErasureRepository,
    EvaluationErasureSteps,
    ExperimentErasureRepository,
    TargetErasureRepository,
  ],
})
export class DeletionWorkerModule {}
