import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { PinnedScorer } from '../scorers';

/** A queue of traces or results that people score. */
@Entity('annotation_queues')
export class AnnotationQueueEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  queue_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('text', { array: true })
  scorer_ids!: string[];

  /** The pinned version of each scorer, in the order of `scorer_ids`. */
  @Column('integer', { array: true })
  scorer_versions!: number[];

  /** The selection of the items. */
  @JsonColumn()
  source!: RawJson;

  /** Ids of the principals who may work on the queue. Null for everyone with the role. */
  @Column('text', { array: true, nullable: true })
  assignees!: string[] | null;

  /** Number of people who score each item. */
  @Column('integer')
  scores_per_item!: number;

  @Column('integer')
  item_count!: number;

  @Column('integer')
  completed_count!: number;

  /** Items that somebody skipped and that are not complete, claimed or not. */
  @Column('integer')
  skipped_count!: number;

  @JsonColumn()
  metadata!: RawJson;

  /**
   * The part of the ETag that `If-Match` compares. The rest of the ETag is the progress. Each request that changes the queue
   * increments the generation; work on its items does not.
   */
  @Column('integer')
  generation!: number;
}

/** Returns the scorers of a queue with their pinned versions, in the order of `scorer_ids`. */
export const pinsOf = ({ scorer_ids, scorer_versions }: AnnotationQueueEntity): PinnedScorer[] =>
  scorer_ids.map((scorer_id, index) => ({ scorer_id, scorer_version: scorer_versions[index]! }));
