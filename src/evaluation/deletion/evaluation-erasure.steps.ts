import { Injectable } from '@nestjs/common';
import { type ErasureStep, ErasureSteps } from '../../resources';
import { AnnotationErasureRepository } from './annotation-erasure.repository';
import { ContentErasureRepository } from './content-erasure.repository';
import { DatasetErasureRepository } from './dataset-erasure.repository';
import { ExperimentErasureRepository } from './experiment-erasure.repository';
import { TargetErasureRepository } from './target-erasure.repository';

const PEOPLE = ['end_user', 'session'] as const;
const SOURCES = [...PEOPLE, 'traces'] as const;
const END_USER = ['end_user'] as const;
const DATASET = ['dataset'] as const;
const EXPERIMENT = ['experiment'] as const;

/**
 * Adds the steps of evaluation to erasures. What was made from traces and sessions is erased after these are gone, so that
 * nothing more can be made from them.
 */
@Injectable()
export class EvaluationErasureSteps {
  constructor(
    steps: ErasureSteps,
    datasets: DatasetErasureRepository,
    experiments: ExperimentErasureRepository,
    content: ContentErasureRepository,
    targets: TargetErasureRepository,
    annotation: AnnotationErasureRepository,
  ) {
    const add = (
      name: string,
      subjects: ErasureStep['subjects'],
      phase: ErasureStep['phase'],
      run: ErasureStep['run'],
    ): void => steps.add({ name, subjects, phase, run });

    add('dataset records', DATASET, 'erase', (...batch) => datasets.deleteRecords(...batch));
    add('dataset versions', DATASET, 'erase', (tx, run) => datasets.deleteVersions(tx, run));
    add('dataset', DATASET, 'tables', (tx, run) => datasets.deleteDataset(tx, run));

    add('results of experiment', EXPERIMENT, 'erase', (...batch) => experiments.deleteResults(...batch));
    add('scores of experiment', EXPERIMENT, 'erase', (...batch) => experiments.deleteScores(...batch));
    add('runs of experiment', EXPERIMENT, 'erase', (tx, run) => experiments.deleteRuns(tx, run));
    add('items of experiment', EXPERIMENT, 'erase', (tx, run) => annotation.eraseItemsOfExperiment(tx, run));
    add('experiment', EXPERIMENT, 'tables', (tx, run) => experiments.deleteExperiment(tx, run));
    add('results of workspace', ['workspace'], 'erase', (...batch) =>
      experiments.deleteResultsOfWorkspace(...batch),
    );

    add('results and records of traces', PEOPLE, 'collect', (...batch) => content.collect(...batch));
    // records before results, so that no more results over them are stored, and targets before scores, so that a worker that is
    // scoring a target stores no more scores of it
    add('records of traces', PEOPLE, 'copies', (...batch) => content.eraseRecords(...batch));
    add('content of results', PEOPLE, 'copies', (...batch) => content.eraseResults(...batch));
    add('waiting targets', SOURCES, 'copies', (...batch) => targets.removeWaiting(...batch));
    add('targets of runs', SOURCES, 'copies', (...batch) => targets.blankTargets(...batch));
    add('scores of traces', SOURCES, 'copies', (...batch) => content.eraseScores(...batch));
    add('scores by author', END_USER, 'copies', (tx, run) => content.eraseAuthor(tx, run));
    add('cached answers', SOURCES, 'copies', (tx, run) => targets.deleteAnswers(tx, run));
    add('annotation items', SOURCES, 'copies', (...batch) => annotation.eraseItems(...batch));
    add('annotators', END_USER, 'copies', (tx, run) => annotation.eraseAuthor(tx, run));
  }
}
