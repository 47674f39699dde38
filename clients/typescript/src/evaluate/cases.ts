import type { Page } from '../api/calls.cjs';
import type { ExperimentCase } from '../api/types.cjs';
import type { Client } from '../client.js';
import type { RunRequests } from './options.js';

/** One result to make: a case, and which trial of it. */
export interface CaseRun {
  /** Case id of the result: that of the case, or with several trials `<case>#<trial>`. */
  id: string;
  caseId: string;
  trial: number;
  /** Whether it has a result with an error. */
  hasFailed: boolean;
  recordId: string | null;
  input: unknown;
  expected: unknown;
  metadata: Record<string, unknown>;
  tags: string[];
}

/** Where cases come from. */
export interface CaseSource {
  experimentId: string;
  trials: number;
  /** Whether no case has a result yet. */
  isNew: boolean;
}

const PAGE_SIZE = 500;

/**
 * Yields what is left to run: first the cases that failed before, then those without a result, so that a case that fails now is
 * not taken again. Reads pages as they are needed, and one ahead.
 */
export async function* casesToRun(
  client: Client,
  { experimentId, trials, isNew }: CaseSource,
  requests: RunRequests,
): AsyncGenerator<CaseRun> {
  const pageAt = (state: 'failed' | 'pending', cursor?: string): Promise<Page<ExperimentCase>> => {
    const page = client.api
      .listExperimentCases(
        { experiment_id: experimentId, state, limit: PAGE_SIZE, total: false, ...(cursor && { cursor }) },
        requests,
      )
      .then((read) => read);
    page.catch(() => undefined); // reported when the page is needed
    return page;
  };
  for (const state of isNew ? (['pending'] as const) : (['failed', 'pending'] as const)) {
    let next: Promise<Page<ExperimentCase>> | null = pageAt(state);
    while (next) {
      const { items, page }: Page<ExperimentCase> = await next;
      next = page.next_cursor ? pageAt(state, page.next_cursor) : null;
      for (const one of items) {
        const numbers =
          state === 'failed' ? one.failed_trials : [...one.missing_trials, ...one.failed_trials];
        for (const trial of numbers) {
          yield {
            id: trials > 1 ? `${one.case_id}#${trial}` : one.case_id,
            caseId: one.case_id,
            trial,
            hasFailed: one.failed_trials.includes(trial),
            recordId: one.dataset_record_id,
            input: one.input,
            expected: one.expected,
            metadata: one.metadata,
            tags: one.tags,
          };
        }
      }
    }
  }
}
