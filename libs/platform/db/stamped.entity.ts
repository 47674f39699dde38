import { Column } from 'typeorm';

/** Columns of a stored row: when and by whom it was created, and when it was last changed. */
export abstract class StampedEntity {
  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  /** The id of the principal. */
  @Column('text')
  created_by!: string;
}

/** Columns of a row that can be archived. */
export abstract class ArchivableEntity extends StampedEntity {
  /** Null while it is live. */
  @Column('timestamptz', { nullable: true })
  archived_at!: Date | null;
}
