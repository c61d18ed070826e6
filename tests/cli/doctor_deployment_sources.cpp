// The judgement about several servers, for the tests that need no process.
#include "../../cli/doctor_cluster.cpp"
#include "../../cli/doctor_cluster_nodes.cpp"
#include "../../cli/doctor_quorum.cpp"
#include "../../cli/doctor_report.cpp"
#include "../../cli/doctor_sentinel.cpp"
