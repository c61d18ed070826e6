package holdfast.peer;

/** One line. Asking for a word that isn't there is an error of the test, and ends up as its answer. */
record Request(String[] words) {
  private static final int BEFORE_ARGUMENTS = 5;

  String id() {
    return words[0];
  }

  String thread() {
    return words[1];
  }

  String kind() {
    return words[2];
  }

  String name() {
    return words[3];
  }

  String verb() {
    return words[4];
  }

  int arguments() {
    return words.length - BEFORE_ARGUMENTS;
  }

  String text(int index) {
    return words[BEFORE_ARGUMENTS + index];
  }

  int number(int index) {
    return Integer.parseInt(text(index));
  }

  long millis(int index) {
    return Long.parseLong(text(index));
  }

  IllegalArgumentException unknown() {
    return new IllegalArgumentException("what is " + kind() + " " + verb() + " with " + arguments() + " arguments?");
  }
}
