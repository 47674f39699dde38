import type { RawJson } from '#platform/json';

/** The status of an item as stored, which ignores claims. */
export type StoredItemStatus = 'pending' | 'skipped' | 'completed';

/** The status of an item. */
export const ITEM_STATUSES = ['pending', 'in_progress', 'skipped', 'completed'] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export const OUTCOMES = ['scored', 'skipped'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A person who works on a queue: a principal and, if several people share it, the person's name. */
export interface Annotator {
  principalId: string;
  /** Empty without a name. */
  author: string;
}

/** A trace or a result to score. */
export interface AnnotationItemRow {
  item_id: string;
  workspace_id: string;
  queue_id: string;
  trace_id: string | null;
  session_id: string | null;
  /** This and the next two members are set if the item is a result. */
  experiment_id: string | null;
  result_id: string | null;
  case_id: string | null;
  item_status: StoredItemStatus;
  /** People who have scored it. */
  scored_count: number;
  /** People who have skipped it and not scored it since. */
  skip_count: number;
  completed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** An item of a list, with its claims and answers. */
export interface ListedItemRow extends Omit<AnnotationItemRow, 'item_status'> {
  item_status: ItemStatus;
  /** When the last claim ends; null without a claim. */
  claimed_until: Date | null;
  answers: RawJson;
}

/** A claim of an item. */
export interface Claim {
  item_id: string;
  claimed_until: Date;
}

/** Work of one person on a queue. */
export interface AnnotatorRow {
  annotator_no: number;
  principal_id: string;
  author: string;
  scored_count: number;
  skipped_count: number;
  created_at: Date;
  last_active_at: Date;
}
