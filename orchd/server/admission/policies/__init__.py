"""ValidatingAdmissionPolicy: policies, their bindings and parameters, and the decisions of their expressions.
Evaluation itself is in `orchd.server.admission.expressions`."""
