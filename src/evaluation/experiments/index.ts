export { ExperimentsModule } from './experiments.module';
export { EXPERIMENT_STATUSES } from './experiments/experiment.entity';
export { ExperimentListQueryDto } from './experiments/experiment-query.dto';
export type { ExperimentDto } from './experiments/experiment.dto';
export { ExperimentRepository } from './experiments/experiment.repository';
export { ExperimentService } from './experiments/experiment.service';
