import { sql } from '#platform/db';
import { RecordRepository } from '../../src/evaluation/datasets/records/record.repository';
import { DatasetVersionRepository } from '../../src/evaluation/datasets/versions/dataset-version.repository';
import { ExperimentFinalizer } from '../../src/evaluation/experiments/experiments/experiment-finalizer';
import { ExperimentRepository } from '../../src/evaluation/experiments/experiments/experiment.repository';
import { SummaryRepository } from '../../src/evaluation/experiments/experiments/summary.repository';
import { ScoreTargetRepository } from '../../src/evaluation/scores/score-target.repository';
import type { Bench } from '../bench';
import { noDeletedTraces } from '../deleted-traces';
import { compare } from '../measure';

const RESULTS = 10_000;
const SCORERS = 5;

/** Finalizes an experiment of 10,000 results with 5 scorers each, in milliseconds (a ratio above 1 is slower). */
export async function finalize(bench: Bench): Promise<void> {
  const experiments = new ExperimentRepository(bench.direct.database);
  const finalizer = new ExperimentFinalizer(
    new SummaryRepository(bench.direct.database),
    new ScoreTargetRepository(bench.direct.database, noDeletedTraces()),
    new RecordRepository(bench.direct.database),
    new DatasetVersionRepository(bench.direct.database),
  );
  const result = await compare([
    {
      name: 'direct',
      measure: async () => {
        const id = await bench.newExperiment();
        await bench.fillResults(id, RESULTS, SCORERS);
        const startedAt = performance.now();
        await bench.direct.transaction(async (tx) => {
          const row = await experiments.lock(tx, bench.scope, id, 'update');
          const final = await finalizer.finalize(tx, bench.scope, row!, 'completed');
          const { experiment_status, summary, finalized_at } = final;
          await tx.query(sql`UPDATE experiments
            SET experiment_status = ${experiment_status}, summary = ${summary?.text}, finalized_at = ${finalized_at}
            WHERE experiment_id = ${id} AND workspace_id = ${bench.scope.workspaceId}`);
        });
        return performance.now() - startedAt;
      },
    },
    {
      name: 'service',
      measure: async () => {
        const id = await bench.newExperiment();
        await bench.fillResults(id, RESULTS, SCORERS);
        const startedAt = performance.now();
        await bench.http.send(
          'PATCH',
          `/eval/v1/experiments/${id}`,
          200,
          '{"experiment_status":"completed"}',
        );
        return performance.now() - startedAt;
      },
    },
  ]);
  bench.report(`finalize ${RESULTS} results of ${SCORERS} scorers`, 'ms', result);
}
