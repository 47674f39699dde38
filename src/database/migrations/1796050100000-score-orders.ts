import type { Migration } from './migration';

/** Lets the batches of one order share a cost limit. */
export const SCORE_ORDERS: Migration = {
  name: '1796050100000-score-orders',
  release: '0.1.0',
  steps: [
    {
      kind: 'expand',
      locks: { score_batches: 'ACCESS EXCLUSIVE' },
      sql: `
        -- the same for batches that were ordered together with one cost limit; null for all others
        ALTER TABLE score_batches ADD COLUMN order_id text COLLATE "C";
      `,
    },
    {
      // the batches of an order, in which they run
      kind: 'index',
      table: 'score_batches',
      name: 'score_batches_order',
      definition: '(order_id, score_batch_id) WHERE order_id IS NOT NULL',
    },
  ],
};
