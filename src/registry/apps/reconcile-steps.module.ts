import { Module } from '@nestjs/common';
import { ReconcileSteps } from './reconcile-steps';

/** Where areas add their steps. */
@Module({ providers: [ReconcileSteps], exports: [ReconcileSteps] })
export class ReconcileStepsModule {}
