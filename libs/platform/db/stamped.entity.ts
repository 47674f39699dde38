import { Column } from 'typeorm';

/** Columns of what is kept: when and by whom it was made, and when it was changed last. */
export abstract class StampedEntity {
  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  /** The id of the principal. */
  @Column('text')
  created_by!: string;
}

/** The same of what can be archived. */
export abstract class ArchivableEntity extends StampedEntity {
  /** Null while it is live. */
  @Column('timestamptz', { nullable: true })
  archived_at!: Date | null;
}
