import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DECLARED_KINDS, type DeclaredKind, type ReconcileStep } from './reconcile-step';

/** The steps of a sweep: one for each kind, or the application does not start. */
@Injectable()
export class ReconcileSteps implements OnApplicationBootstrap {
  private readonly steps = new Map<DeclaredKind, ReconcileStep>();

  /** Called by each step, as it is constructed. */
  add(step: ReconcileStep): void {
    if (this.steps.has(step.kind)) throw new Error(`Two steps reconcile the kind ${step.kind}.`);
    this.steps.set(step.kind, step);
  }

  of(kind: DeclaredKind): ReconcileStep {
    const step = this.steps.get(kind);
    if (!step) throw new Error(`No step reconciles the kind ${kind}.`);
    return step;
  }

  /** In the order of a sweep. */
  inOrder(): ReconcileStep[] {
    return DECLARED_KINDS.map((kind) => this.of(kind));
  }

  onApplicationBootstrap(): void {
    this.inOrder();
  }
}
