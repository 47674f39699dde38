import { Injectable } from '@nestjs/common';
import { ErasureSteps, WorkspaceCopiesStep } from '../../resources';
import { StoredResultRepository } from './stored-result.repository';

/** Erases the stored results of a workspace. */
@Injectable()
export class StoredResultsStep extends WorkspaceCopiesStep {
  readonly name = 'stored MCP results';
  protected readonly kind = 'mcp_stored_results';
  /** Few, because each may have some MiB. */
  protected readonly limit = 100;

  constructor(steps: ErasureSteps, results: StoredResultRepository) {
    super(results);
    steps.add(this);
  }
}
