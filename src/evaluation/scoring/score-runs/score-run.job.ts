import { defineJob } from '#platform/jobs';

/** Scores the targets of a run. */
export const SCORE_RUN = defineJob<{ score_run_id: string }>({ name: 'score-run', subject: 'score_run_id' });
