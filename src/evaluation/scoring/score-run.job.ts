import { defineJob } from '#platform/jobs';

/** To score what a run holds. */
export const SCORE_RUN = defineJob<{ score_run_id: string }>({ name: 'score-run', subject: 'score_run_id' });
