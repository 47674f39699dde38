import path from 'node:path';
import { type Case, modelsOf, readCases } from './cases';
import { batchesOf, checkBulk, ModelExperiment, type Outcome } from './experiment';
import { Progress } from './progress';
import { FINAL_ANSWER_SCORER } from './scorer';
import { connect, Service } from './service';
import { Tracing } from './tracing';

const DEFAULT_FILE = 'examples/compare-models/cases.jsonl';

interface BulkRecords {
  items: { status_code: number; record?: { dataset_record_id: string }; error?: { detail: string } }[];
}

/** Creates the dataset, with one record per case. */
async function createDataset(service: Service, name: string, cases: Case[], progress: Progress) {
  const { workspace_id } = service.connection;
  const { dataset_id } = await service.post<{ dataset_id: string }>('/eval/v1/datasets', {
    workspace_id,
    name,
  });
  const recordIds = new Map<string, string>();
  for (const batch of batchesOf(cases)) {
    const answer = await service.post<BulkRecords>(`/eval/v1/datasets/${dataset_id}/records/bulk`, {
      workspace_id,
      items: batch.map((one) => ({
        external_id: one.id,
        input: { question: one.question },
        expected: { ground_truth: one.ground_truth },
      })),
    });
    checkBulk(answer);
    batch.forEach((one, i) => recordIds.set(one.id, answer.items[i]!.record!.dataset_record_id));
    progress.show('dataset: records', recordIds.size, cases.length);
  }
  return { dataset_id, recordIds };
}

async function createScorer(service: Service, name: string) {
  return service.post<{ scorer_id: string; name: string }>('/eval/v1/scorers', {
    workspace_id: service.connection.workspace_id,
    name,
    scorer_kind: 'code',
    grain: 'trace',
    definition: { language: 'javascript', source: FINAL_ANSWER_SCORER },
  });
}

function table(outcomes: Outcome[]): string {
  const rows = outcomes.map(({ model, cases, mean, labelled, seconds }) => [
    model,
    String(cases),
    mean.toFixed(4),
    labelled === null ? '-' : labelled.toFixed(4),
    `${seconds.toFixed(1)} s`,
  ]);
  const all = [['model', 'cases', 'mean', 'labels', 'duration'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
    )
    .join('\n');
}

async function main(): Promise<void> {
  const file = process.argv[2] ?? DEFAULT_FILE;
  const cases = await readCases(file);
  const service = new Service(await connect());
  const progress = new Progress();
  const tracing = new Tracing(service);
  const name = `${path.basename(file)} ${new Date().toISOString()}`;
  try {
    const dataset = await createDataset(service, name, cases, progress);
    const scorer = await createScorer(service, `final-answer ${name}`);
    const outcomes: Outcome[] = [];
    for (const model of modelsOf(cases)) {
      outcomes.push(await new ModelExperiment(service, tracing, dataset, scorer, progress).run(model, cases));
    }
    process.stdout.write(`${table(outcomes)}\n`);
    const differing = outcomes.filter(
      ({ mean, labelled }) => labelled !== null && Math.abs(mean - labelled) > 1e-12,
    );
    if (differing.length > 0)
      throw new Error(
        `The scores differ from the labels for ${differing.map(({ model }) => model).join(', ')}.`,
      );
  } finally {
    await tracing.shutdown();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
