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

  /** The version of each scorer that every person is shown, in the order of `scorer_ids`. */
  @Column('integer', { array: true })
  scorer_versions!: number[];

  /** The selection of the items. */
  @JsonColumn()
  source!: RawJson;

  /** Ids of the principals who may work on the queue. Null for everybody with the role. */
  @Column('text', { array: true, nullable: true })
  assignees!: string[] | null;

  /** People who score each item. */
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
   * What `If-Match` compares of the ETag, which also has the progress. Incremented by each request that changes the queue,
   * but not by work on its items.
   */
  @Column('integer')
  generation!: number;
}

/** Returns the version of each scorer that every person is shown, in the order of `scorer_ids`. */
export const pinsOf = ({ scorer_ids, scorer_versions }: AnnotationQueueEntity): PinnedScorer[] =>
  scorer_ids.map((scorer_id, index) => ({ scorer_id, scorer_version: scorer_versions[index]! }));
